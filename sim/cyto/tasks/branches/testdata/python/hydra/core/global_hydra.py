class GlobalHydra:
    @staticmethod
    def instance():
        return GlobalHydra()

    def clear(self):
        pass
