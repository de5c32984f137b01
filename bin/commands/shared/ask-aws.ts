import { Sha256 } from '@aws-crypto/sha256-js';
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { SignatureV4 } from '@smithy/signature-v4';
import { aborted } from '../../../client/commands/failure.ts';
import { suffixOf } from '../../../client/commands/identity.ts';
import { causeWord } from '../../../functions/aws/calls.ts';
import { parseJsonObject } from '../../json.ts';
import { awsFailure } from './aws-failure.ts';

/** Asks AWS, and gives the members of the answer. @throws CommandFailure */
export type AskAws = (service: AskedService, operation: string, question: Question) => Promise<Members>;

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

/** Calls of AWS, signed by hand: for a few operations whole SDK clients would be too much. */
export function askAws(region: string | undefined, signal: AbortSignal): AskAws {
  const readCredentials = defaultProvider();
  return async (service, operation, { path = '/', query = {}, target, body, ...question }) => {
    const action = { action: `${service}:${operation}`, region };
    if (region === undefined) throw awsFailure(new Error('Region is missing'), action);
    const url = new URL(path, endpointOf(service) || `https://${service}.${region}.amazonaws.com${suffixOf(region)}`);
    try {
      const signer = new SignatureV4({ service, region, credentials: await readCredentials(), sha256: Sha256 });
      const text = body === undefined ? undefined : JSON.stringify(body);
      const headers = {
        host: url.host,
        ...(text && { 'content-type': target ? 'application/x-amz-json-1.1' : 'application/json' }),
        ...(target && { 'x-amz-target': target }),
      };
      const { protocol, hostname } = url;
      const { method = text === undefined ? 'GET' : 'POST' } = question;
      const signed = await signer.sign({ method, protocol, hostname, path, query: { ...query }, headers, body: text });
      const { host: _writtenByFetch, ...sent } = signed.headers;
      const limit = AbortSignal.any([signal, AbortSignal.timeout(20_000)]);
      url.search = new URLSearchParams(query).toString();
      const response = await fetch(url, {
        method,
        headers: sent,
        redirect: 'manual',
        signal: limit,
        ...(text && { body: text }),
      });
      const answer = await response.text();
      const members = parseJsonObject(answer === '' ? '{}' : answer);
      if (response.ok && members !== undefined) return members;
      throw Object.assign(new Error('refused'), { name: refusalOf(response, members) });
    } catch (error) {
      if (signal.aborted) throw aborted();
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      throw awsFailure(causeWord(cause) === 'AbortError' ? new Error('no answer in time') : cause, action);
    }
  };
}

/** Where a stand-in is, when one is set. */
function endpointOf(service: AskedService): string | undefined {
  const { AWS_ENDPOINT_URL_CODEDEPLOY, AWS_ENDPOINT_URL_LAMBDA, AWS_ENDPOINT_URL_CLOUDWATCH_LOGS } = process.env;
  const endpoints = { codedeploy: AWS_ENDPOINT_URL_CODEDEPLOY, lambda: AWS_ENDPOINT_URL_LAMBDA };
  return service === 'logs' ? AWS_ENDPOINT_URL_CLOUDWATCH_LOGS : endpoints[service];
}

/** The name of an error of AWS, if it looks like one. */
function refusalOf({ headers, status }: Response, answer: Members | undefined): string {
  const told = `${answer?.__type ?? headers.get('x-amzn-errortype') ?? ''}`.split('#').at(-1)?.split(':')[0] ?? '';
  return /^[A-Z][A-Za-z]{2,60}$/.test(told) ? told : `HTTP${status}`;
}
