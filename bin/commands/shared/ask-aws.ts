import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { type AwsAnswer, askAws } from '../../../client/commands/identity.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { parseJsonObject } from '../../../functions/broker/json.ts';
import { awsFailure } from './aws-failure.ts';

/** Asks AWS, and gives the members of the answer. @throws CommandFailure */
export type AskService = (service: AskedService, operation: string, question: Question) => Promise<Members>;

type AskedService = 'codedeploy' | 'lambda' | 'logs';
type Members = Readonly<Record<string, unknown>>;

interface Question {
  /** POST with a body and GET without one, when left out. */
  readonly method?: 'PUT';
  readonly path?: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Names the operation, in the protocol that has no path. */
  readonly target?: string;
  readonly body?: object;
}

/** Calls of AWS in JSON, signed by hand: for a few operations whole SDK clients would be too much. */
export function askService(shell: Shell, region: string | undefined): AskService {
  const readCredentials = shell.credentials ?? defaultProvider();
  const { AWS_ENDPOINT_URL_CLOUDWATCH_LOGS: logs, AWS_ENDPOINT_URL_LAMBDA: lambda } = shell.env;
  const standIns = { logs, lambda, codedeploy: shell.env.AWS_ENDPOINT_URL_CODEDEPLOY };
  return async (service, operation, { path = '/', query = {}, target, body, ...question }) => {
    const fail = (error: unknown) => awsFailure(error, { action: `${service}:${operation}`, region });
    if (region === undefined) throw fail(new Error('Region is missing'));
    const suffix = region.startsWith('cn-') ? '.cn' : '';
    const credentials = await readCredentials().catch((error) => Promise.reject(fail(error)));
    const { method = body === undefined ? 'GET' : 'POST' } = question;
    const type = target === undefined ? 'application/json' : 'application/x-amz-json-1.1';
    const answer = await askAws({
      ...{ service, region, credentials, path, query, method, signal: shell.signal },
      url: new URL(standIns[service] || `https://${service}.${region}.amazonaws.com${suffix}`),
      ...(body && { body: JSON.stringify(body) }),
      ...(body && { headers: { 'content-type': type, ...(target && { 'x-amz-target': target }) } }),
    });
    const told = parseJsonObject(answer.text === '' ? '{}' : answer.text);
    if (answer.status === 200 && told !== undefined) return told;
    throw fail(Object.assign(new Error('refused'), { name: refusalOf(answer, told) }));
  };
}

/** The name of an error of AWS, if it looks like one. */
function refusalOf({ status, word, errorType }: AwsAnswer, answer: Members | undefined): string {
  if (status === 0) return word;
  const told = `${answer?.__type ?? errorType ?? ''}`.split('#').at(-1)?.split(':')[0] ?? '';
  return /^[A-Z][A-Za-z]{2,60}$/.test(told) ? told : `HTTP${status}`;
}
