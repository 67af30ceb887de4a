# syntax=docker/dockerfile:1
# Two stages: wheels are built where compilers are, and run where they aren't.
FROM python:3.11-slim-bookworm AS build
WORKDIR /app
RUN python -m venv /venv
ENV PATH=/venv/bin:$PATH PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
# EXTRAS=local carries torch and MiniLM in the image; empty uses an embeddings API instead.
ARG EXTRAS=local
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
COPY pyproject.toml constraints.txt README.md LICENSE ./
# Dependencies before code: an edit of ours doesn't download torch again.
RUN if [ -n "$EXTRAS" ]; then \
      pip install --constraint constraints.txt --extra-index-url "$TORCH_INDEX" torch; \
    fi
COPY oncall.py ./
COPY agents agents
COPY api api
COPY bot bot
COPY cli cli
COPY config config
COPY enrichment enrichment
COPY index index
COPY jobs jobs
COPY loaders loaders
COPY playground playground
RUN pip install --constraint constraints.txt --editable ".${EXTRAS:+[$EXTRAS]}"

FROM python:3.11-slim-bookworm
RUN groupadd --gid 10001 oncall \
 && useradd --uid 10001 --gid oncall --home-dir /app --no-create-home oncall \
 && install -d -o oncall -g oncall /data
COPY --from=build /venv /venv
COPY --from=build /app /app
WORKDIR /app
USER oncall
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 ONCALL_CONFIG_DIR=/app/config ONCALL_DATA_DIR=/data
VOLUME /data
EXPOSE 8080
# /readyz is red when the socket to Slack is dead, not only when the process is.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/readyz', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["oncall"]
CMD ["bot"]
