# Two stages: what installs stays behind, and what runs has no way to write to the code.
FROM python:3.11.16-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b AS build
WORKDIR /app
RUN python -m venv /venv
ENV PATH=/venv/bin:$PATH PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
# Several are named with commas: anthropic,ollama. Each is a file in locks/. `rerank` needs
# --build-arg PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu besides, for torch.
ARG EXTRAS=
ARG PIP_EXTRA_INDEX_URL
COPY locks locks
# Dependencies before code: an edit of ours downloads nothing again. Only files whose hashes
# are in locks/ are installed, whatever an index answers, and none runs code to be built.
RUN set --; \
    for extra in $(echo "base,$EXTRAS" | tr , ' '); do set -- "$@" -r "locks/$extra.txt"; done; \
    pip install --require-hashes --only-binary :all: "$@"
COPY pyproject.toml README.md LICENSE ./
COPY agents agents
COPY api api
COPY bot bot
COPY cli cli
COPY config config
COPY durable durable
COPY enrichment enrichment
COPY index index
COPY jobs jobs
COPY loaders loaders
COPY oncall oncall
COPY telemetry telemetry
# Everything it needs is there by now, setuptools too: nothing more is downloaded.
RUN pip install --no-index --no-deps --no-build-isolation --editable . && pip check

FROM python:3.11.16-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b
RUN groupadd --gid 10001 oncall \
 && useradd --uid 10001 --gid oncall --home-dir /app --no-create-home oncall \
 && install -d -o oncall -g oncall /data
COPY --from=build /venv /venv
COPY --from=build /app /app
WORKDIR /app
USER oncall
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 ONCALL_CONFIG_DIR=/config ONCALL_DATA_DIR=/data
# Your domain files are mounted at /config: those in the source are the demo's.
VOLUME /data
EXPOSE 8080
# /readyz is red when the socket to Slack is dead, not only when the process is.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["oncall", "health"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["oncall"]
CMD ["bot"]
