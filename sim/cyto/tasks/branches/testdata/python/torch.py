import json


class Tensor:
    def __init__(self, *shape):
        self.shape = shape


class cuda:
    @staticmethod
    def is_available():
        return False


def load(path, map_location=None, weights_only=True):
    assert map_location == "cpu" and weights_only is False
    with open(path, encoding="utf-8") as file:
        return json.load(file)
