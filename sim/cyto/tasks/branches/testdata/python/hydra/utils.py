def instantiate(cfg, **named):
    if cfg.get("_target_") == "model":
        assert named == {"_recursive_": False}
        from cyto_dl import Model

        return Model()
    from lightning import Trainer

    return Trainer(cfg, **named)
