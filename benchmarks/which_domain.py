"""Which domain a question is for, where nobody named one: the fit, and how it does.

    python -m benchmarks.which_domain [demo] [public]

Each set's questions are put to its three domains with weights fitted on the other set's, and the
answers, without a model, are compared with those that the named domain gives. Then the time of a
question to twenty domains against one, and the weights fitted on all, to be copied to
`agents/which_domain/weighing.py`. In brackets the 95% interval of a bootstrap over questions."""
