import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { Redacted } from '../../../functions/broker/redacted.ts';

const value = new Redacted('marked-secret');

it.each([
  ['a text', `${value}`],
  ['JSON', JSON.parse(JSON.stringify(value))],
  ['an inspection', inspect(value)],
])('is no more than a mark in %s', (_, shown) => {
  expect(shown).toBe('[redacted]');
});

it('is shown to nobody who inspects what holds it', () => {
  expect(inspect({ held: [value] }, { depth: null, showHidden: true })).not.toContain('marked-secret');
});

it('is revealed to whoever asks for it by name', () => {
  expect(value.reveal()).toBe('marked-secret');
});
