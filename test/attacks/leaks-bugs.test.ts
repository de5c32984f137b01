import { describe, expect, it } from 'vitest';
import { createAuditLog } from '../../functions/aws/log/audit-log.ts';
import { EMPTY_RECORD } from '../../functions/broker/pair/record.ts';
import { createBrokerWorld, found } from '../support/broker-world.ts';
import { exampleRule, START } from '../support/example.ts';
import { echoOf, findLeaks, type Marks, marksOf, SPELLINGS } from './leak-marks.ts';
import { captureOutput } from './leak-output.ts';

/** What code can throw unexpectedly, with everything it knew in it. */
const THROWN: readonly (readonly [what: string, make: (echo: string, marks: Marks) => unknown])[] = [
  ['an error', (echo) => new Error(echo)],
  ['an error of several lines', (echo) => new Error(`a\n    at ${echo} (file:///a.ts:1:2)\n${echo}`)],
  ['an error with causes', (echo) => new Error('x', { cause: new Error(echo, { cause: echo }) })],
  ['errors in an error', (echo) => new AggregateError([new Error(echo), echo], echo)],
  ['an error with members', (echo) => Object.assign(new Error('x'), { echo, $response: { body: echo } })],
  ['an error with the secret as its name', (_, { secret }) => Object.assign(new Error('x'), { name: secret })],
  ['an error with the secret as its code', (_, { secret }) => Object.assign(new Error('x'), { code: secret })],
  [
    'an error whose trace was written over',
    (echo) => Object.assign(new Error('x'), { stack: `Error: x\n    at ${echo}` }),
  ],
  ['an error whose message was taken away', (echo) => Object.assign(new Error(`x\n    at ${echo}`), { message: '' })],
  [
    'an error that throws when it is read',
    (echo) => Object.defineProperty(new Error('x'), 'stack', { get: () => thrown(echo) }),
  ],
  ['what JSON.parse throws', (_, { secret }) => caught(() => JSON.parse(secret))],
  ['what a header throws', (_, { secret }) => caught(() => new Headers({ a: `${secret}\n` }))],
  ['what URL throws', (echo) => caught(() => new URL(echo))],
  ['what a missing function throws', (_, { secret }) => caught(() => Reflect.apply(Object({})[secret], undefined, []))],
  ['a text', (echo) => echo],
  ['the secret', (_, { secret }) => secret],
  ['an object', (echo) => ({ message: echo, name: echo, stack: echo, toString: () => echo, toJSON: () => echo })],
  ['a list', (echo) => [echo]],
  ['a function', (echo) => Object.assign(() => echo, { echo })],
  ['a symbol', (echo) => Symbol(echo)],
  ['bytes', (echo) => Buffer.from(echo)],
  ['nothing', () => undefined],
];

const PORTS = ['the secret is read', 'the record is read', 'the token request is sent', 'a check is made'] as const;

describe.each(SPELLINGS)('with %s marks', (spelling) => {
  describe.each(PORTS)('a bug while %s', (port) => {
    it.each(THROWN)('that throws %s', async (_, make) => {
      const marks = marksOf(spelling);
      const fail = async () => {
        throw make(echoOf(marks), marks);
      };
      let lines = '';
      const audit = createAuditLog({
        ...{ environment: 'test', version: '7', services: new Set(['customer-insights']) },
        now: () => START,
        write: (line) => {
          lines += line;
        },
      });
      const { post } = createBrokerWorld({
        audit,
        accessRules: [exampleRule({ operations: ['token', 'check'] })],
        secret: () => found('v1', { client_id: marks.clientId, secret: marks.secret }),
        ...(port === 'the secret is read' && { secret: fail }),
        ...(port === 'the token request is sent' && { answer: fail }),
        ...(port === 'a check is made' && { answer: fail }),
        ...(port === 'the record is read' && { store: storeThat(fail) }),
      });
      const { written, unhandled } = captureOutput();
      const answer = await post(
        { client: 'acme', service: 'customer-insights' },
        port === 'a check is made' ? { path: '/check' } : {},
      );
      expect(answer.json.type).toBe('internal');
      expect(lines).toContain('"outcome":"internal"');
      expect(findLeaks({ ...written, lines, answer: JSON.stringify(answer) }, spelling)).toEqual([]);
      expect(unhandled()).toBe(0);
    });
  });
});

function storeThat(fail: () => Promise<never>) {
  return { read: fail, acquire: async () => EMPTY_RECORD, end: async () => true, reject: async () => {} };
}

function thrown(message: string): never {
  throw new Error(message);
}

function caught(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}
