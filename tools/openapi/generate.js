// Prints what generators make of an OpenAPI description: its types, and what Redocly finds in it.
import { createConfig, lint } from '@redocly/openapi-core';
import openapiTypescript, { astToString } from 'openapi-typescript';

const [ref] = process.argv.slice(2);
// The project has no license to name.
const config = await createConfig({ extends: ['recommended'], rules: { 'info-license': 'off' } });
const problems = await lint({ ref, config });
const types = astToString(await openapiTypescript(new URL(ref, `file://${process.cwd()}/`)));
const found = problems.map(({ ruleId, message, location: [place] }) => `${ruleId}: ${message} ${place?.pointer}`);
process.stdout.write(JSON.stringify({ types, found }));
