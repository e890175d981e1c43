# gavel in an image with nothing else in it: one static program, which brings along the certificates of public authorities and the time zones. It has no
# shell and no package that could be out of date. `make image` builds the program and then this; docs/relay.md says how to run it.
FROM scratch
COPY bin/image/gavel /gavel
# Data of all services lie below /data; each has a folder of its own there. /tmp is for what a database sorts.
COPY --chown=65532:65532 bin/image/empty /data
COPY --chown=65532:65532 bin/image/empty /tmp
VOLUME /data
WORKDIR /data
# Nobody in particular, on ports above 1023: it needs no privileges.
USER 65532:65532
# Public ports of relay, rpc and stream, and beside each the operator's, which listens on loopback unless it is told otherwise.
EXPOSE 9062 9063 9072 9073 9074 9075
ENTRYPOINT ["/gavel"]
CMD ["--help"]
