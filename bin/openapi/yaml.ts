import { stringify } from 'yaml';
import { openapiDocument } from './document.ts';

/** What docs/openapi.yaml has to hold. */
export function openapiYaml(): string {
  return `# Made from the code by \`npm run openapi\`: do not edit.\n${stringify(openapiDocument(), OPTIONS)}`;
}

/** Without anchors: few readers of OpenAPI follow them. */
const OPTIONS = {
  aliasDuplicateObjects: false,
  compat: 'yaml-1.1',
  lineWidth: 120,
  singleQuote: true,
  blockQuote: 'literal',
} as const;
