import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createCertificateAuthority, type ServerCertificate } from '../../test/support/certificates.ts';

/** What a function reaches over the network, with the fewest answers that let a token request happen. */
export interface StandIns {
  /** Lead the SDK and Node to them. */
  readonly variables: Readonly<Record<string, string>>;
  readonly authUrl: string;
  readonly close: () => Promise<void>;
}

/** Starts Secrets Manager, DynamoDB and a token endpoint on this machine, behind TLS; `folder` takes the certificate. */
export async function startStandIns(folder: string): Promise<StandIns> {
  const authority = await createCertificateAuthority();
  const certificate = await authority.issue();
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, authority.ca);
  const servers = await Promise.all(
    [answerOfSecretsManager, answerOfDynamoDB, answerOfTokenEndpoint].map((answer) => start(certificate, answer)),
  );
  const [secretsManager = '', dynamodb = '', authUrl = ''] = servers.map(({ url }) => url);
  return {
    variables: {
      NODE_EXTRA_CA_CERTS: caFile,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager,
      AWS_ENDPOINT_URL_DYNAMODB: dynamodb,
    },
    authUrl,
    close: async () => void (await Promise.all(servers.map(({ close }) => close()))),
  };
}

type Answer = (body: string) => object;

/** Every secret holds a credential that a sealing key can be made of as well. */
function answerOfSecretsManager(body: string): object {
  const { SecretId } = JSON.parse(body);
  return {
    ARN: `arn:aws:secretsmanager:eu-west-1:111111111111:secret:${SecretId}-AbCdEf`,
    Name: SecretId,
    VersionId: '11111111-2222-4333-8444-555555555555',
    SecretString: JSON.stringify({ client_id: 'the-user-name', secret: 'the-password-of-this-client' }),
    VersionStages: ['AWSCURRENT'],
    CreatedDate: 1_767_225_600,
  };
}

/** There is no item, and every change succeeds. */
function answerOfDynamoDB(): object {
  return {};
}

function answerOfTokenEndpoint(): object {
  return { access_token: 'a-token-that-is-as-long-as-opaque-tokens-are', token_type: 'Bearer', expires_in: 86_400 };
}

async function start(certificate: ServerCertificate, answer: Answer) {
  const server = createServer({ ...certificate, keepAlive: true }, async (request: IncomingMessage, response) => {
    const body = JSON.stringify(answer(await text(request)));
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
  });
  server.keepAliveTimeout = 0;
  server.listen(0, 'localhost');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: `https://localhost:${typeof address === 'object' ? address?.port : ''}`,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
