"""The LangGraph graph that answers: one file per agent."""
