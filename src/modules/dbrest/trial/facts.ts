import type { ExplainedFact, PolicyAccess, RelationAccess, TrialReason } from '../../../contract/index.ts';

/** What a role may do, which policies hold for it and why a request would fail, as facts of an explanation. */
export function rightsFacts(
  relations: readonly RelationAccess[],
  reasons: readonly TrialReason[],
): readonly ExplainedFact[] {
  return [
    ...relations.map((relation) => ({ label: 'privilege', value: privilegeText(relation) })),
    ...relations.flatMap(({ name, rowSecurity, policies }) =>
      rowSecurity === 'applies'
        ? policies.map((policy) => ({ label: 'policy', value: policyText(name, policy) }))
        : [],
    ),
    ...reasons.map(({ text, remedy }) => ({
      label: 'why',
      value: remedy === undefined ? text : `${text}: ${remedy}`,
    })),
  ];
}

const SECURITY: Readonly<Record<RelationAccess['rowSecurity'], string>> = {
  off: 'no row security',
  applies: 'row security applies',
  bypassed: 'row security is bypassed',
};

function privilegeText({ name, role, commands, rowSecurity, isDirect }: RelationAccess): string {
  const rights = commands.map(({ command, isAllowed, missingColumns }) => {
    if (isAllowed) return command;
    return missingColumns ? `no ${command} of ${missingColumns.join(', ')}` : `no ${command}`;
  });
  const through = isDirect ? '' : ', through a view';
  return `${name}: ${role} has ${rights.join(', ')}; ${SECURITY[rowSecurity]}${through}`;
}

function policyText(
  relation: string,
  { name, isPermissive, command, roles, using, check, applies }: PolicyAccess,
): string {
  const kind = `${isPermissive ? 'permissive' : 'restrictive'}, ${command}, to ${roles.join(', ')}`;
  const shown = [
    ...(using === undefined ? [] : [`using (${using})`]),
    ...(check === undefined ? [] : [`with check (${check})`]),
  ];
  return `${applies ? '✓' : '✗'} ${name} on ${relation} (${kind})${shown.map((text) => ` ${text}`).join('')}`;
}
