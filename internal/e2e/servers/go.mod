module github.com/mirrorpatch/mirrorpatch/internal/e2e/servers

go 1.26.6
