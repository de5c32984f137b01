import type { AccessRule, Caller } from '../../functions/broker/authorize.ts';
import type { Service } from '../../functions/broker/service.ts';

/** A service with the defaults of the settings; `test/stack` proves that they are the same. */
export function exampleService(changes: Partial<Service> = {}): Service {
  return {
    authUrl: 'https://auth.example.com',
    tokenPath: '/auth/v1/token',
    basicEncoding: 'raw',
    parameters: {},
    parametersIn: 'query',
    headers: {},
    response: { lifetimeUnit: 'seconds', passThrough: [] },
    assumedLifetimeSeconds: 300,
    maxLifetimeSeconds: 86_400,
    rejectedOn403: false,
    singleActiveToken: false,
    requestTimeoutMs: 4_000,
    ...changes,
  };
}

export function exampleRule(changes: Partial<AccessRule> = {}): AccessRule {
  return {
    role: 'arn:aws:iam::111111111111:role/billing',
    clients: ['acme'],
    services: ['customer-insights'],
    operations: ['token'],
    ...changes,
  };
}

/** The settings of one service and one access rule. */
export function exampleSettings(rule: Partial<AccessRule> = {}, service: Partial<Service> = {}) {
  const services = { 'customer-insights': exampleService(service) };
  return { services, accessRules: [exampleRule(rule)], provenForSeconds: 3_600 };
}

export const PAIR = { client: 'acme', service: 'customer-insights' };

export const BILLING: Caller = { partition: 'aws', account: '111111111111', role: 'billing', session: 'run-1' };

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example' };

/** Region and credentials of clients of the stand-ins for AWS. */
export const ACCESS = { environment: 'test', region: 'us-east-1', credentials };

/** A moment that no test depends on: 2026-01-01T00:00:00Z. */
export const START = Date.UTC(2026, 0, 1);

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
