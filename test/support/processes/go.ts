import { tmpdir } from 'node:os';
import path from 'node:path';

/** The command `go`, with the modules of Debian's packages and no network. */
export const GO_COMMAND: readonly string[] = [
  'env',
  'GO111MODULE=off',
  'GOPATH=/usr/share/gocode',
  `GOCACHE=${path.join(tmpdir(), 'token-broker-go-cache')}`,
  'go',
];
