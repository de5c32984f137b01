import type { ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { PROBLEMS, type ProblemType } from '../../../functions/contract.ts';
import { AWS_ANSWERS, problem } from '../../unit/client/broker-answers.ts';
import { type Answer, answerWith, startLoopbackServer } from '../../unit/client/loopback-server.ts';

interface Front {
  /** How an unsigned request is answered. */
  readonly unsigned?: 'forbidden' | 'unknown-url' | 'page' | 'hang';
  /** How far the clock of AWS is from this machine's. */
  readonly clockMs?: number;
  /** The problem, or the failure of AWS, that every signed call gets. */
  readonly call?: string;
  readonly retryAfterSeconds?: number;
  /** An ARN, or the code of an error. */
  readonly identity?: string;
  /** What the function's policy allows the account. */
  readonly policy?: readonly string[] | 'denied';
  /** The roles of the account by name, with what the simulation says of a direct invocation */
  readonly roles?: Readonly<Record<string, 'allowed' | 'implicitDeny' | 'explicitDeny' | 'denied'>>;
  /** How many subscriptions of the topic are confirmed. */
  readonly subscribers?: number;
}

/** Plays AWS in front of a broker, the two AWS services that tell more, and a token endpoint at `/base/oauth/token`. */
export async function startFront(front: Front) {
  const { identity = 'arn:aws:sts::111111111111:assumed-role/billing/run-1', policy = [] } = front;
  const server = await startLoopbackServer((response, request) => {
    const { url, method, headers, body } = request;
    response.setHeader('date', new Date(Date.now() + (front.clockMs ?? 0)).toUTCString());
    if (body.includes('Action=GetCallerIdentity')) answerIdentity(response, identity);
    else if (/Action=(ListRoles|SimulatePrincipalPolicy)/.test(body)) answerIam(response, body, front.roles);
    else if (body.includes('Action=GetTopicAttributes')) answerTopic(response, front.subscribers);
    else if (url.endsWith('/functions/token-broker-local/policy?Qualifier=live'))
      answerPolicy(policy)(response, request);
    else if (url === '/base/oauth/token') answerWith(401, '')(response, request);
    else if (headers.authorization !== undefined) answerCall(front)(response, request);
    else if (method === 'POST') answerWith(404, '')(response, request);
    else UNSIGNED[front.unsigned ?? 'forbidden'](response, request);
  });
  onTestFinished(server.close);
  return server;
}

const DENIED = { 'x-amzn-errortype': 'AccessDeniedException' };

const UNSIGNED: Readonly<Record<NonNullable<Front['unsigned']>, Answer>> = {
  forbidden: answerWith(403, { Message: 'Forbidden. For troubleshooting, see …' }, DENIED),
  'unknown-url': answerWith(403, { Message: null }, DENIED),
  page: answerWith(404, '<html></html>'),
  hang: () => undefined,
};

function answerCall({ call = 'internal', retryAfterSeconds }: Front): Answer {
  const ofAws = AWS_ANSWERS.find(({ type }) => type === call);
  if (ofAws !== undefined) return ofAws.answer;
  const type = Object.keys(PROBLEMS).find((name): name is ProblemType => name === call) ?? 'internal';
  return problem(type, retryAfterSeconds === undefined ? {} : { 'retry-after': `${retryAfterSeconds}` });
}

function answerPolicy(policy: NonNullable<Front['policy']>): Answer {
  if (policy === 'denied') return answerWith(403, { Message: 'not authorized to perform lambda:GetPolicy' }, DENIED);
  const mine = policy.map((Action) => statement(Action, 'arn:aws:iam::111111111111:root'));
  // What another account may do is of no use to this one.
  const Statement = [...mine, statement('lambda:InvokeFunctionUrl', 'arn:aws:iam::333333333333:root')];
  return answerWith(200, { Policy: JSON.stringify({ Version: '2012-10-17', Statement }) });
}

function statement(Action: string, account: string) {
  return { Effect: 'Allow', Principal: { AWS: account }, Action, Resource: '*' };
}

function answerIdentity(response: ServerResponse, identity: string): void {
  const isArn = identity.startsWith('arn:');
  const body = isArn
    ? `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>${identity}</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`
    : `<ErrorResponse><Error><Type>Sender</Type><Code>${identity}</Code><Message>…</Message></Error></ErrorResponse>`;
  response.writeHead(isArn ? 200 : 403, { 'content-type': 'text/xml' }).end(body);
}

function answerTopic(response: ServerResponse, subscribers: number | undefined): void {
  const entry = `<entry><key>SubscriptionsConfirmed</key><value>${subscribers}</value></entry>`;
  response.writeHead(subscribers === undefined ? 403 : 200, { 'content-type': 'text/xml' });
  response.end(subscribers === undefined ? '' : `<Attributes>${entry}</Attributes>`);
}

/** One role on each page; a role whose simulation is `denied` may not be asked about. */
function answerIam(response: ServerResponse, body: string, roles: NonNullable<Front['roles']> = {}): void {
  const names = Object.keys(roles);
  const asked = new URLSearchParams(body);
  const arnOf = (name = '') => `arn:aws:iam::111111111111:role/${name}`;
  const at = Number(asked.get('Marker') ?? 0);
  const next = at + 1 < names.length ? `<Marker>${at + 1}</Marker>` : '';
  const page = `<ListRolesResponse><Arn>${arnOf(names[at])}</Arn>${next}</ListRolesResponse>`;
  const decision = roles[names.find((name) => arnOf(name) === asked.get('PolicySourceArn')) ?? ''];
  const isList = asked.get('Action') === 'ListRoles';
  const isRefused = isList ? names.length === 0 : decision === 'denied';
  const decisions = ['implicitDeny', decision].map((one) => `<EvalDecision>${one}</EvalDecision>`).join('');
  response.writeHead(isRefused ? 403 : 200, { 'content-type': 'text/xml' });
  response.end(
    isRefused ? '<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>' : isList ? page : decisions,
  );
}
