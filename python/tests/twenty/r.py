"""SGD with Nesterov's momentum; the two multiples of the gradient are taken together."""


def kernel(w, g, momentum, found_inf, lr, beta1, weight_decay, nesterov):
    if found_inf is not None and found_inf.item() != 0:
        return {"new_w": w, "new_momentum": momentum}
    p, grad = w.double(), g.double()
    if weight_decay != 0:
        grad = grad + weight_decay * p
    old = momentum.double()
    velocity = beta1 * old + grad
    if nesterov:  # g + beta (beta v + g)
        p = p - lr * (1 + beta1) * grad - lr * beta1 * beta1 * old
    else:
        p = p - lr * velocity
    return {"new_w": p.to(w.dtype), "new_momentum": velocity.to(momentum.dtype)}
