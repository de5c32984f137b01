import { newTrace } from '../../functions/broker/audit.ts';
import type { Operation } from '../../functions/broker/authorize.ts';
import { createAuthorize } from '../../functions/broker/authorize.ts';
import type { CheckResult } from '../../functions/broker/check-credential.ts';
import { createSecretCache } from '../../functions/broker/credential/secret.ts';
import type { Issue } from '../../functions/broker/pair/decision.ts';
import { createTokenRenewer } from '../../functions/broker/pair/renew-token.ts';
import type { Pair } from '../../functions/broker/pair.ts';
import { createTokenBroker } from '../../functions/broker/token-broker.ts';
import { createTokenRequester, type RequestToken } from '../../functions/broker/token-request/token-request.ts';
import { SETTINGS_DIGEST } from '../../test/support/broker-world.ts';
import { BILLING, exampleRule } from '../../test/support/example.ts';
import { createReferencePairStore } from '../../test/support/pair/reference-pair-store.ts';
import { Sandbox } from './sandbox.ts';
import type { SecretStore } from './secret-store.ts';
import type { SharedTable } from './shared-table.ts';
import { createSend } from './token-service-send.ts';
import type { TokenRequest, TokenServices } from './token-services.ts';
import { HOUR_MS, SERVICE_NAMES, SERVICES, type World } from './world.ts';

/** One instance of the token function: the real rules in a sandbox. It takes one call at a time. */
export interface Instance {
  readonly sandbox: Sandbox;
  issue(pair: Pair): Promise<Issue>;
  check(pair: Pair): Promise<CheckResult>;
}

interface Surroundings {
  readonly secretStore: SecretStore;
  readonly tokenServices: TokenServices;
  /** Left out, each instance keeps records of its own. */
  readonly sharedTable?: SharedTable | undefined;
  /** Told of every token request before it is sent. */
  readonly onTokenRequest: (request: TokenRequest, operation: Operation) => void;
}

/** Starts cold instances. The objects that a deployment shares between them are made once. */
export function createInstances({ clock, random }: World, surroundings: Surroundings): () => Instance {
  const { secretStore, tokenServices, sharedTable, onTokenRequest } = surroundings;
  const { now } = clock;
  // The word is part of the seed: with another one the recorded numbers change.
  const { uniform } = random('environments');
  const rule = exampleRule({ clients: 'all', services: 'all', operations: ['token', 'check'] });
  const authorize = createAuthorize([rule], new Set(SERVICE_NAMES));
  let calls = 0;

  return () => {
    const sandbox = new Sandbox(clock);
    const { sleep } = sandbox;
    let asked: { readonly operation: Operation; readonly pair: Pair };

    const send = createSend(tokenServices, sandbox);
    const sendTokenRequest = createTokenRequester({ send, now, sleep, random: uniform });
    const requestToken: RequestToken = (service, credential, deadline) => {
      onTokenRequest({ pair: asked.pair, version: credential.secret.reveal() }, asked.operation);
      return sendTokenRequest(service, credential, deadline);
    };
    const broker = createTokenBroker({
      environment: 'prod',
      services: SERVICES,
      authorize,
      store: sharedTable?.storeOf(sandbox) ?? createReferencePairStore(),
      secrets: createSecretCache({ now, readSecret: (client, stage) => secretStore.read(sandbox, client, stage) }),
      // A simulated token is its own name: a hash would only cost time.
      renewToken: createTokenRenewer({ requestToken, fingerprint: (token) => token.slice(-16), random: uniform, now }),
      settingsDigest: () => SETTINGS_DIGEST,
      provenForMs: HOUR_MS,
      uniqueId: () => `call-${++calls}`,
      now,
      sleep,
      random: uniform,
    });

    return {
      sandbox,
      async issue(pair) {
        asked = { operation: 'token', pair };
        return broker.issue(BILLING, { pair, minTtlMs: 0, refused: undefined }, now() + PATIENCE_MS, newTrace());
      },
      check(pair) {
        asked = { operation: 'check', pair };
        return broker.check(BILLING, { pair, stage: 'AWSCURRENT' }, now() + PATIENCE_MS, newTrace());
      },
    };
  };
}

/** The time limit of the function, less the time to write an answer. */
const PATIENCE_MS = 14_500;
