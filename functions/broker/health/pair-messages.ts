import { secretName } from '../../contract.ts';
import type { PairObservation } from './transitions.ts';

/** The part of a message that depends on what it is about. */
export interface News {
  readonly headline: string;
  readonly sentence: string;
  readonly facts?: readonly (readonly [name: string, value: string])[];
  readonly whatToDo: string;
}

/** What an observation of a pair means, and what an operator does about it. */
export function pairNews(environment: string, { pair, condition, version }: PairObservation): News {
  const { client, service } = pair;
  const facts = [
    ['client', client],
    ['service', service],
    ['secret', secretName(environment, client)],
    ['secret version', version ?? 'not known'],
  ] as const;
  const run = (words: string) => `\n  npm run token-broker -- ${words} --environment ${environment}`;
  const news = { headline: `${condition}: ${client} on ${service}`, facts };

  switch (condition) {
    case 'accepted':
      return { ...news, sentence: `${service} accepts the credential of ${client}.`, whatToDo: 'nothing.' };
    case 'rejected':
      return {
        ...news,
        sentence:
          `${service} rejects the credential of ${client}. The broker sends this version at most twice more, so that the ` +
          'account is not locked; callers are served with the version before it as long as that one is accepted.',
        whatToDo:
          `get the right credential from ${service} and store it:${run(`client put ${client}`)}\n` +
          `If the credential is right after all, let it be sent again:${run(`client retry ${client}`)}`,
      };
    case 'throttled':
      return {
        ...news,
        sentence: `${service} answers that there were too many token requests for ${client}.`,
        whatToDo: `nothing, if it passes; else ask ${service} how many token requests it allows.`,
      };
    case 'unreachable':
      return {
        ...news,
        sentence: `${service} gives no answer to token requests for ${client}, or none in time.`,
        whatToDo: `nothing, if it passes; else ask ${service}, and find the cause with:${run(doctor(client, service))}`,
      };
    case 'misconfigured':
      return {
        ...news,
        sentence: `${service} answers token requests for ${client}, but not with a token that the broker can use.`,
        whatToDo:
          'compare authUrl, tokenPath, parameters and response of the service in lib/environments.ts with what the ' +
          `service expects:${run(doctor(client, service))}`,
      };
    case 'secret-missing':
      return {
        ...news,
        sentence: `There is no credential of ${client} to send to ${service}.`,
        whatToDo: `store it, unless the client is gone:${run(`client put ${client}`)}`,
      };
    case 'secret-malformed':
      return {
        ...news,
        sentence: `The secret of ${client} holds no credential that can be sent to ${service}.`,
        whatToDo: `store it anew:${run(`client put ${client}`)}`,
      };
    case 'disabled':
      return {
        ...news,
        sentence: `An operator has disabled ${client}: it gets no tokens of ${service}.`,
        whatToDo: `nothing, until it may go on:${run(`client enable ${client}`)}`,
      };
    case 'service-unknown':
      return {
        ...news,
        sentence: `The secret of ${client} names the service ${service}, which is not configured.`,
        whatToDo: 'correct the tag "services" of the secret, or configure the service in lib/environments.ts.',
      };
  }
}

function doctor(client: string, service: string): string {
  return `doctor --client ${client} --service ${service}`;
}
