import { onTestFinished, vi } from 'vitest';
import type { Message } from '../../../functions/health/rules/messages.ts';
import type { SigningKey } from '../../../functions/sigv4.ts';
import { createTables } from '../../../local/aws/dynamodb.ts';
import { createSecrets } from '../../../local/aws/secrets-manager.ts';
import { type AwsKey, serveAws } from '../../../local/aws/server.ts';
import { type LoopbackServer, serve } from '../../../local/loopback.ts';
import { startFaultyEndpoint } from '../aws/faulty-endpoint.ts';
import { ACCESS } from '../example.ts';

const role = 'arn:aws:iam::111111111111:role/example';

/** The key of every test that is not about signatures. */
export const EXAMPLE_KEY = { role, ...ACCESS.credentials, mayReadSecrets: true } satisfies AwsKey;

interface Keys {
  /** Defaults to `EXAMPLE_KEY`. */
  readonly keys?: readonly AwsKey[];
}

/** The stand-in for DynamoDB alone. */
export async function startDynamoDB({ keys = [EXAMPLE_KEY] }: Keys = {}) {
  const tables = createTables();
  return { ...(await serveAws([tables], { keys })), play: tables.play };
}

/** The stand-in for Secrets Manager alone, which fails on demand. */
export async function startSecretsManager(
  { keys = [EXAMPLE_KEY] }: Keys = {},
  ...events: Parameters<typeof createSecrets>
) {
  const { store, ...api } = createSecrets(...events);
  return failing({ ...(await serveAws([api], { keys })), store });
}

/** Stands in for SNS, with one topic, and fails on demand. Like `startSts`, it does not look at signatures. */
export function startSns(topicArn: string, messages: Message[] = [], subscribers = 1) {
  const attribute = `<key>SubscriptionsConfirmed</key><value>${subscribers}</value>`;
  return startQueryApi({
    Publish: ({ TopicArn, Subject = '', Message = '' }) => {
      if (TopicArn === topicArn) messages.push({ subject: Subject, text: Message });
      return '<MessageId>1</MessageId>';
    },
    GetTopicAttributes: () => `<Attributes><entry>${attribute}</entry></Attributes>`,
  });
}

/** Stands in for STS, which gives everyone the key of the role. */
export function startSts({ accessKeyId, secretAccessKey, sessionToken = '' }: SigningKey) {
  const key = `<AccessKeyId>${accessKeyId}</AccessKeyId><SecretAccessKey>${secretAccessKey}</SecretAccessKey>`;
  const token = sessionToken.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return startQueryApi({ AssumeRole: () => `<Credentials>${key}<SessionToken>${token}</SessionToken></Credentials>` });
}

/** Serves operations in AWS's query protocol: a form as request, XML as answer. */
async function startQueryApi(operations: Record<string, (form: Partial<Record<string, string>>) => string>) {
  const server = await serve(async ({ body }) => {
    const form = Object.fromEntries(new URLSearchParams(Buffer.from(body).toString()));
    const result = operations[form.Action ?? '']?.(form);
    const xml = `<${form.Action}Response><${form.Action}Result>${result}</${form.Action}Result></${form.Action}Response>`;
    return { status: 200, headers: { 'content-type': 'text/xml' }, body: xml };
  });
  return failing(server);
}

/** A stand-in behind an endpoint that adds faults; `operations` were called, in order. */
async function failing<Server extends LoopbackServer>(server: Server) {
  const { url, failWith, operations, close } = await startFaultyEndpoint(server.url);
  return { ...server, url, failWith, operations, close: () => close().then(server.close) };
}

/** Until the end of the test, the SDK and the adapters repeat without their random pauses. */
export function repeatAtOnce(): void {
  const random = vi.spyOn(Math, 'random').mockReturnValue(0);
  onTestFinished(() => random.mockRestore());
}
