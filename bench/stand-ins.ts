import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { stop } from '../local/loopback.ts';
import { answerOfAws, type Item, LATENCIES_MS, TOKEN_RESPONSE } from '../test/support/cold-start/exchange.ts';
import { createCertificateAuthority } from '../test/support/services/certificates.ts';

/** The tables: the first discards every write, the second keeps a token. */
export const TABLES = { empty: 'pairs', keeping: 'pairs-kept' };

/** Starts Secrets Manager, DynamoDB and a token endpoint here, behind TLS. Stores the certificate in `folder`. */
export async function startStandIns(folder: string) {
  const authority = await createCertificateAuthority();
  const certificate = await authority.issue();
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, authority.ca);
  /** Answers come after real latencies, or at once. */
  const latency = { isReal: false };
  const kept = new Map<string, Item>();
  const answerTo = (target: string | undefined, body: string) => {
    if (target === undefined) return TOKEN_RESPONSE;
    return answerOfAws(target, body, JSON.parse(body).TableName === TABLES.keeping ? kept : new Map());
  };
  const servers = LATENCIES_MS.map((latencyMs) => {
    const server = createServer({ ...certificate, keepAlive: true }, async (request, response) => {
      const body = JSON.stringify(answerTo(request.headers['x-amz-target']?.toString(), await text(request)));
      if (latency.isReal) await sleep(latencyMs);
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
    });
    server.keepAliveTimeout = 0;
    return server.listen(0, 'localhost');
  });
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const [secretsManager, dynamodb, authUrl = ''] = servers.map(
    (server) => `https://localhost:${Object(server.address()).port}`,
  );
  return {
    latency,
    /** They direct the functions and Node to the servers. */
    variables: {
      NODE_EXTRA_CA_CERTS: caFile,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager,
      AWS_ENDPOINT_URL_DYNAMODB: dynamodb,
      AUTH_URL: authUrl,
    },
    close: () => Promise.all(servers.map(stop)),
  };
}
