"""How answers about samplers are judged where rounding may decide them."""
