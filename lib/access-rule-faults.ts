import { z } from 'zod';
import { accessRuleSchema } from './access-rule-schema.ts';
import { parseRoleArn } from './role-arn.ts';
import type { Fault } from './settings-error.ts';

type AccessRule = z.output<typeof accessRuleSchema>;

interface Numbered {
  readonly index: number;
  readonly rule: AccessRule;
}

/**
 * What is wrong between access rules and with the services they name. Rules that are wrong by themselves are passed
 * over here, and so is whatever else is wrong in `settings`.
 */
export function accessRuleFaults(settings: unknown): Fault[] {
  const { region, services, accessRules } = readable.parse(settings);
  const rules = accessRules.flatMap((input, index): Numbered[] => {
    const { data } = accessRuleSchema.safeParse(input);
    return data === undefined ? [] : [{ index, rule: data }];
  });
  return [
    ...unknownServices(rules, Object.keys(services)),
    ...repeatedRules(rules),
    ...rolesThatDifferByPath(rules),
    ...foreignPartitions(rules, region),
  ];
}

const readable = z
  .object({
    region: z.string().catch(''),
    services: z.record(z.string(), z.unknown()).catch({}),
    accessRules: z.array(z.unknown()).catch([]),
  })
  .catch({ region: '', services: {}, accessRules: [] });

function unknownServices(rules: readonly Numbered[], services: readonly string[]): Fault[] {
  if (services.length === 0) return [];
  const known = new Set(services);
  return rules.flatMap(({ index, rule }) => {
    const named = rule.services === 'all' ? [] : rule.services;
    return named.flatMap((service, place) =>
      known.has(service)
        ? []
        : [{ path: at(index, 'services', place), reason: `is not one of the services (${services.join(', ')})` }],
    );
  });
}

function repeatedRules(rules: readonly Numbered[]): Fault[] {
  return laterOnes(rules, ({ role, clients, services, operations }) =>
    JSON.stringify([
      role,
      ...[clients, services, operations].map((names) => (names === 'all' ? names : names.toSorted())),
    ]),
  ).map(({ index, first }) => ({ path: at(index), reason: `says the same as accessRules[${first.index}]` }));
}

/** A caller arrives without its role's path, so the broker could not tell two such roles apart. */
function rolesThatDifferByPath(rules: readonly Numbered[]): Fault[] {
  return laterOnes(rules, ({ role }) => JSON.stringify(parseRoleArn(role)))
    .filter(({ rule, first }) => rule.role !== first.rule.role)
    .map(({ index, first }) => ({
      path: at(index, 'role'),
      reason: `differs only by its path from the role of accessRules[${first.index}], which the broker cannot see`,
    }));
}

/** A role signs for its own partition only, so a rule for another one would never let anybody in. */
function foreignPartitions(rules: readonly Numbered[], region: string): Fault[] {
  if (region === '') return [];
  const partition = partitionOf(region);
  return rules
    .filter(({ rule }) => parseRoleArn(rule.role)?.partition !== partition)
    .map(({ index }) => ({
      path: at(index, 'role'),
      reason: `must start with arn:${partition}: like the region's own`,
    }));
}

function partitionOf(region: string): string {
  if (region.startsWith('cn-')) return 'aws-cn';
  return region.startsWith('us-gov-') ? 'aws-us-gov' : 'aws';
}

/** The rules that have the key of an earlier one, each with the first that has it. */
function laterOnes(rules: readonly Numbered[], keyOf: (rule: AccessRule) => string) {
  return [...Map.groupBy(rules, ({ rule }) => keyOf(rule)).values()].flatMap(([first, ...later]) =>
    first === undefined ? [] : later.map((one) => ({ ...one, first })),
  );
}

function at(index: number, ...path: PropertyKey[]): Fault['path'] {
  return ['accessRules', index, ...path];
}
