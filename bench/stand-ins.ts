import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerOfAws, type Item, LATENCIES_MS, TOKEN_RESPONSE } from '../test/support/cold-start/exchange.ts';
import { createCertificateAuthority } from '../test/support/services/certificates.ts';

/** The servers that a function reaches over the network. */
export type StandIns = Awaited<ReturnType<typeof startStandIns>>;

/** The tables: the first discards every write, the second keeps a token. */
export const TABLES = { empty: 'pairs', keeping: 'pairs-kept' };

/** Starts Secrets Manager, DynamoDB and a token endpoint here, behind TLS. Stores the certificate in `folder`. */
export async function startStandIns(folder: string) {
  const authority = await createCertificateAuthority();
  const certificate = await authority.issue();
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, authority.ca);
  let waits = false;
  const kept = new Map<string, Item>();
  const aws = (target: string, body: string) =>
    answerOfAws(target, body, JSON.parse(body).TableName === TABLES.keeping ? kept : new Map());
  const start = async (answer: (target: string, body: string) => object, latencyMs?: number) => {
    const server = createServer({ ...certificate, keepAlive: true }, async (request: IncomingMessage, response) => {
      const body = JSON.stringify(answer(`${request.headers['x-amz-target']}`, await text(request)));
      if (waits) await sleep(latencyMs);
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
    });
    server.keepAliveTimeout = 0;
    await once(server.listen(0, 'localhost'), 'listening');
    return server;
  };
  const answers = [aws, aws, () => TOKEN_RESPONSE];
  const servers = await Promise.all(answers.map((answer, n) => start(answer, LATENCIES_MS[n])));
  const [secretsManager = '', dynamodb = '', authUrl = ''] = servers.map((server) => {
    const address = server.address();
    return `https://localhost:${typeof address === 'object' ? address?.port : ''}`;
  });
  return {
    /** They direct the SDK and Node to the servers. */
    variables: {
      NODE_EXTRA_CA_CERTS: caFile,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager,
      AWS_ENDPOINT_URL_DYNAMODB: dynamodb,
    },
    authUrl,
    /** Switches between real latencies and immediate answers. */
    waitBeforeAnswers(value: boolean): void {
      waits = value;
    },
    close(): void {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}
