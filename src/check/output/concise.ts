import { placeOf, printable } from '../../../grammar/index.ts';
import type { CheckReport } from './check-report.ts';
import { fileOf } from './range.ts';

/** One line for each finding, in the form of compilers: `file:line:column: severity GW301 slug: message`. */
export function concise({ findings }: CheckReport): string {
  const lines = findings.map((finding) => {
    const { span, severity, rule, slug, message, fix } = finding;
    const place = span && placeOf(span);
    const where = `${printable(fileOf(finding))}:${place ? `${place.line}:${place.column}:` : ''}`;
    const how = fix ? ` [${fix.safe ? '--fix' : '--unsafe-fixes'}]` : '';
    return `${where} ${severity} ${rule} ${slug}: ${printable(message)}${how}\n`;
  });
  return lines.join('');
}
