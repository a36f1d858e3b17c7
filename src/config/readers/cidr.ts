import type { Word } from '../../../grammar/index.ts';
import { parseNetwork } from '../network.ts';
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
  const { network, written } = parsed;
  if (network.bytes.some((byte, index) => byte !== written[index])) {
    report.warn(`low address bits of ${word.value} are meaningless`, word.span);
  }
  return network;
}
