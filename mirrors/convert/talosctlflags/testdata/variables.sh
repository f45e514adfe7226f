talosctl gen config lab "$ENDPOINT" --registry-mirror docker.io=https://$MIRROR --registry-mirror "ghcr.io=`cat mirror`"
