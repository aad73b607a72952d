def templates():
    return {}
def case(rng, templates):
    return {}
