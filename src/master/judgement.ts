import { placeOf } from '../../grammar/index.ts';
import { judgementOf } from '../lookups.ts';
import { check } from '../pipeline.ts';
import type { Finding, Loaded } from '../pipeline.ts';

/** Reports as faults what `refuse` of the `check` block keeps from being used; true when there is any. */
export async function isRefused(loaded: Loaded): Promise<boolean> {
  const { refuses: from } = judgementOf(loaded);
  if (!loaded.plan || from === undefined) return false;
  const found = await check(loaded, { rulesOnly: true });
  const refused = found.filter(({ severity }) => severity === 'error' || severity === from);
  for (const finding of refused) loaded.report.emerg(messageOf(finding), finding.span, finding.hint);
  return refused.length > 0;
}

/** What the rules find, one line each as the error log has them; advice is for those who ask. */
export async function findingLines(loaded: Loaded): Promise<readonly string[]> {
  const findings = await check(loaded, { rulesOnly: true });
  return findings
    .filter(({ severity }) => severity !== 'info')
    .map((finding) => {
      const place = finding.span && placeOf(finding.span);
      return `${messageOf(finding)}${place ? ` in ${place.file}:${place.line}:${place.column}` : ''}`;
    });
}

function messageOf({ rule, slug, message }: Pick<Finding, 'rule' | 'slug' | 'message'>): string {
  return `${rule} ${slug}: ${message}`;
}
