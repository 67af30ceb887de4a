"""Classes of LangChain as sources: a process for each, what it may do, its pages as documents."""
