import { actionsOnEverything } from './acknowledgements.ts';

/** Where policies are. */
const POLICIES = ['KeyPolicy', 'PolicyDocument', 'ResourcePolicy', 'AssumeRolePolicyDocument'];
/** Only in these a resource `*` means everything; the policy of a resource means the resource with it. */
const ROLE_POLICIES = `Resources.*[ Type in ['AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy', 'AWS::IAM::RolePolicy'] ]`;

/**
 * What every template must keep to, in the language of CloudFormation Guard; a rule's name is the id of its findings.
 * Most look for what must not be there: Guard takes an intrinsic that is compared with a text for a failure.
 */
export const guardRules = `
let functions = Resources.*[ Type == 'AWS::Lambda::Function' ]
let urls = Resources.*[ Type == 'AWS::Lambda::Url' ]
let roles = Resources.*[ Type == 'AWS::IAM::Role' ]

rule function_url_asks_for_a_signature when %urls !empty {
  %urls.Properties.AuthType == 'AWS_IAM' <<Only AWS_IAM tells who calls a Function URL>>
}

rule function_runs_on_node_24 when %functions !empty {
  %functions.Properties.Runtime == 'nodejs24.x' <<The code is built for nodejs24.x>>
}

rule function_has_a_log_group when %functions !empty {
  %functions.Properties.LoggingConfig.LogGroup.Ref exists <<Lambda's own log groups are kept for ever>>
}

rule role_has_policies_of_its_own when %roles !empty {
  %roles.Properties.ManagedPolicyArns !exists <<A managed policy changes without us>>
  %roles.Properties.Policies !exists <<The other rules do not look into a role>>
}

rule principal_is_named {
  Resources.*[ Type == 'AWS::Lambda::Permission'
    Properties.Principal == /[*]/ ] empty <<A permission must be somebody's>>
  ${inPolicies(POLICIES, 'Principal == /[*]/', 'An Allow must name its principals')}
  ${inPolicies(POLICIES, 'some Principal.*[*] == /[*]/', 'An Allow must name its principals')}
  ${inPolicies(POLICIES, 'NotPrincipal exists', 'An Allow must name its principals')}
}

rule action_is_named {
  ${inPolicies(POLICIES, 'some Action[*] == /[*?]/', 'An Allow must name its actions')}
  ${inPolicies(POLICIES, 'NotAction exists', 'An Allow must name its actions')}
}

rule resource_is_named {
  ${inRolePolicies('NotResource exists', 'An Allow must name its resources')}
  ${inRolePolicies(
    `some Resource[*] == '*'
     some Action[*] not in [${Object.keys(actionsOnEverything).map((action) => `'${action}'`)}]`,
    'An Allow must name its resources, unless actionsOnEverything says why it cannot',
  )}
}

rule statements_are_a_list {
  ${POLICIES.map(
    (policy) => `Resources.*[ Properties.${policy} exists
    Properties.${policy}.Statement !is_list ] empty <<The other rules read lists of statements>>`,
  ).join('\n  ')}
}
`;

function inPolicies(policies: readonly string[], fault: string, message: string): string {
  return policies
    .map((policy) => `Resources.*[ Properties.${policy} exists ].Properties.${policy}${none(fault, message)}`)
    .join('\n  ');
}

function inRolePolicies(fault: string, message: string): string {
  return `${ROLE_POLICIES}.Properties.PolicyDocument${none(fault, message)}`;
}

function none(fault: string, message: string): string {
  return `.Statement[ Effect == 'Allow'\n    ${fault} ] empty <<${message}>>`;
}
