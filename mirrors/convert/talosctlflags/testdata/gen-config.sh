#!/bin/sh
# Mirrors for the lab.
talosctl gen config lab https://192.0.2.10:6443 \
  --registry-mirror docker.io=https://mirror.example.com \
  --registry-mirror=docker.io=https://mirror-2.example.com,ghcr.io=http://10.0.0.5:5001 \
  --registry-mirror 'quay.io=https://harbor.example.com/v2/quay' \
  --registry-mirror "\"registry.k8s.io=https://m.example.com/a,b\"" \
  --with-docs=false --kubernetes-version 1.36.3   # the rest
