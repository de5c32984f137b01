import { Socket } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Service } from '../../../functions/broker/service.ts';
import { prime } from '../../../functions/prime.ts';
import { createTokenFunction } from '../../../functions/token-function.ts';
import { captureOutput } from '../../attacks/leaks/output.ts';
import { exampleService } from '../../support/example.ts';

const settingsOf = (changes: Partial<Service> = {}) => ({
  services: { 'customer-insights': exampleService(changes) },
  accessRules: [],
  provenForSeconds: 3_600,
});

it.each<[string, () => Promise<object>, number]>([
  ['answers', async () => ({}), 10_000],
  ['fails', () => Promise.reject(new Error('no')), 10_000],
  ['is silent', () => new Promise(() => undefined), 20],
])(
  'the first reads ask for an item and the sealing key, and no client’s secret, when AWS %s',
  async (_, answer, ms) => {
    const asked = new Set<string>();
    const ask = async (input: object) => {
      asked.add(JSON.stringify(input));
      return { ...(await answer()) };
    };
    const aws = { secretsManager: { getSecretValue: ask }, dynamodb: { getItem: ask, updateItem: ask } };
    await createTokenFunction({ environment: 'test', tableName: 'pairs', settings: settingsOf(), ...aws }).readFirst(
      ms,
    );
    expect([...asked].toSorted()).toEqual([
      '{"SecretId":"token-broker-keys/test/sealing","VersionStage":"AWSCURRENT"}',
      '{"TableName":"pairs","Key":{"pair":{"S":"first-read"}}}',
    ]);
  },
);

const ELSEWHERE = { ...exampleService().response, tokenMember: 'jwt' };

it.each<[string, Partial<Service>, number]>([
  ['is 200, as a miss', {}, 200],
  ['is a problem where the token is elsewhere', { response: ELSEWHERE }, 424],
  ['is a failure where the URL is malformed', { authUrl: 'nowhere' }, 500],
])(
  'priming goes the whole way to a token, opens no connection and writes nothing: the answer %s',
  async (_, changes, status) => {
    const connect = vi.spyOn(Socket.prototype, 'connect');
    onTestFinished(() => connect.mockRestore());
    const written = captureOutput();
    const headers = status === 200 ? { 'cache-status': 'token-broker; fwd=miss' } : {};
    expect(await prime(settingsOf(changes))).toMatchObject({ statusCode: status, headers });
    expect(connect).not.toHaveBeenCalled();
    expect(Object.values(written).join('')).toBe('');
  },
);
