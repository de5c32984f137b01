import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import type { AwsCredentials } from '../../../client/index.ts';
import type { Caller } from '../../../functions/broker/authorize.ts';
import { ALIAS, functionName } from '../../../lib/names.ts';
import { isJsonObject, parseJson } from '../../json.ts';
import { aborted } from '../failure.ts';
import { failed, type Step } from './causes.ts';
import { forSdk } from './identity.ts';

interface Question {
  readonly environment: string;
  readonly region: string;
  readonly credentials: AwsCredentials;
  /** Whose account it is about; when unknown nothing can be told. */
  readonly caller: Caller | undefined;
}

/**
 * Which permission is missing when AWS says no more than `Forbidden`: AWS answers alike for each of them, so the function's
 * own policy is read, if that is allowed.
 */
export async function examinePermissions(question: Question, signal: AbortSignal): Promise<Step> {
  const step = 'permissions';
  const { caller } = question;
  if (caller === undefined) return failed(step, 'aws-forbidden', 'Whose account this is cannot be told');
  const policy = await readPolicy(question, signal);
  if (policy === undefined) return failed(step, 'aws-forbidden', "The function's policy cannot be read");

  const statements = policy.filter((statement) => allows(statement, caller));
  const has = (action: string) => statements.some(({ Action }) => listOf(Action).includes(action));
  const [mayCall, mayInvoke] = [has('lambda:InvokeFunctionUrl'), has('lambda:InvokeFunction')];
  const found = `The function's policy gives account ${caller.account}`;
  if (!mayCall && !mayInvoke) return failed(step, 'permission-account', `${found} nothing`);
  if (!mayCall) return failed(step, 'permission-invoke-function-url', `${found} lambda:InvokeFunction only`);
  if (!mayInvoke) return failed(step, 'permission-invoke-function', `${found} lambda:InvokeFunctionUrl only`);
  return failed(step, 'permission-identity', `${found} both permissions`);
}

type Statement = Readonly<Record<string, unknown>>;

/** The statements of the policy on the function's alias, none when it has none; `undefined` when it cannot be read. */
async function readPolicy(question: Question, signal: AbortSignal): Promise<readonly Statement[] | undefined> {
  try {
    const response = await askLambda(question, AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]));
    if (response.status === 404) return [];
    const body = parseJson(await response.text());
    const policy = isJsonObject(body) && typeof body.Policy === 'string' ? parseJson(body.Policy) : undefined;
    return isJsonObject(policy) && Array.isArray(policy.Statement) ? policy.Statement.filter(isJsonObject) : undefined;
  } catch {
    if (signal.aborted) throw aborted();
    return undefined;
  }
}

/** `lambda:GetPolicy`, signed by hand: for one call a whole SDK client would be too much. */
async function askLambda({ environment, region, credentials }: Question, signal: AbortSignal): Promise<Response> {
  const suffix = region.startsWith('cn-') ? '.cn' : '';
  const url = new URL(process.env.AWS_ENDPOINT_URL_LAMBDA ?? `https://lambda.${region}.amazonaws.com${suffix}`);
  const path = `/2015-03-31/functions/${functionName(environment)}/policy`;
  const query = { Qualifier: ALIAS };
  const signer = new SignatureV4({ service: 'lambda', region, credentials: forSdk(credentials), sha256: Sha256 });
  const { protocol, hostname, host } = url;
  const request = { method: 'GET', protocol, hostname, path, query, headers: { host } };
  const { headers } = await signer.sign(request);
  const { host: _writtenByFetch, ...sent } = headers;
  return fetch(new URL(`${path}?${new URLSearchParams(query)}`, url), { headers: sent, redirect: 'manual', signal });
}

const TIMEOUT_MS = 10_000;

function allows({ Effect, Principal }: Statement, { account }: Caller): boolean {
  const principals = isJsonObject(Principal) ? listOf(Principal.AWS) : listOf(Principal);
  const isMine = (principal: string) =>
    principal === '*' || principal === account || principal.includes(`::${account}:`);
  return Effect === 'Allow' && principals.some(isMine);
}

function listOf(value: unknown): readonly string[] {
  return [value].flat().filter((item) => typeof item === 'string');
}
