import type { Report, Word } from '../../../grammar/index.ts';
import { networkText, parseNetwork } from '../network.ts';
import type { Network } from '../network.ts';
import type { ArgReader, ReadScope } from '../row.ts';
import { oneWord } from './words.ts';

/** A network or one address. Warns about address bits behind the mask, as nginx does. */
export const cidr: ArgReader<Network> = oneWord('address | CIDR', readCidr);

/** The same for a word that may also be something else. */
export function readCidr(word: Word, { report }: ReadScope): Network | undefined {
  const parsed = parseNetwork(word.value);
  if (!parsed) {
    report.emerg(
      `invalid parameter "${word.value}"`,
      word.span,
      'expected an address such as 10.0.0.1 or 10.0.0.0/8',
    );
    return undefined;
  }
  warnOfHostBits(word, parsed, report);
  return parsed.network;
}

/** Says so when a network was written with bits behind its mask (nginx). */
export function warnOfHostBits(
  { value, quote, span }: Word,
  { network, written }: { readonly network: Network; readonly written: readonly number[] },
  report: Report,
): void {
  if (network.bytes.every((byte, index) => byte === written[index])) return;
  const meant = networkText(network);
  report.warn(`low address bits of ${value} are meaningless`, span, {
    rule: 'cidr-host-bits',
    fix: { title: `write ${meant}`, safe: true, edits: [{ span, text: `${quote}${meant}${quote}` }] },
  });
}
