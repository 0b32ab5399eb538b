from contextlib import contextmanager


class Config(dict):
    def __getattr__(self, name):
        return self[name]


class OmegaConf:
    resolvers = set()

    @classmethod
    def register_new_resolver(cls, name, function):
        if name in cls.resolvers:
            raise ValueError(f"{name} twice")
        cls.resolvers.add(name)

    @staticmethod
    def resolve(cfg):
        assert "hydra" not in cfg
        cfg["resolved"] = True


@contextmanager
def open_dict(cfg):
    yield
