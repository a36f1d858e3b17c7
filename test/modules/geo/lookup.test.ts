import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addressBytes, contains, type Network, parseNetwork } from '../../../src/config/index.ts';
import { type GeoConfig, type GeosConfig, lookUp } from '../../../src/modules/geo/lookup.ts';
import { load } from '../../../src/pipeline.ts';

/** The planned table of a `geo` block. */
function planGeo(lines: readonly string[]): GeoConfig {
  const text = `http { geo $g { ${lines.join(' ')} } server { } }`;
  const { plan, report } = load({ confFile: '/gw.conf', name: 'gw.conf', prefix: '/', text });
  const config = plan?.servers[0]?.root.modules['geo'] as GeosConfig | undefined;
  if (!config?.geos?.[0]) throw new Error(report.faults.map(({ message }) => message).join('\n'));
  return config.geos[0];
}

/** Few different bytes, so that many networks contain others. */
const byte = fc.constantFrom(0, 1, 127, 128, 254, 255);
const v4 = fc.tuple(byte, byte, byte, byte).map((bytes) => bytes.join('.'));
const group = fc.constantFrom('0', '1', '7fff', '8000', 'ffff');
const v6 = fc
  .array(group, { minLength: 8, maxLength: 8 })
  .map((groups) => groups.join(':'))
  .filter((address) => !address.startsWith('0:0:0:0:0:ffff:'));
const network = fc.oneof(
  fc.tuple(v4, fc.integer({ min: 0, max: 32 })),
  fc.tuple(v6, fc.integer({ min: 0, max: 128 })),
);

test('the smallest network that contains an address decides, in any order', () => {
  fc.assert(
    fc.property(
      fc.array(network, { maxLength: 12 }),
      fc.array(fc.oneof(v4, v6), { minLength: 1 }),
      (drawn, addresses) => {
        const networks = drawn.map(
          ([address, bits]) => parseNetwork(`${address}/${bits}`)?.network as Network,
        );
        const geo = planGeo(drawn.map(([address, bits], index) => `${address}/${bits} v${index};`));
        for (const address of addresses) {
          const bytes = addressBytes(address) as readonly number[];
          const [smallest] = networks
            .map((each, index) => ({ each, index }))
            .filter(({ each }) => contains(each, bytes))
            // Of two equal networks the later one is kept.
            .toSorted((a, b) => b.each.bits - a.each.bits || b.index - a.index);
          expect(geo.values[lookUp(geo, address)]).toBe(smallest && `v${smallest.index}`);
        }
      },
    ),
  );
});

test('a range inside another one takes its addresses and leaves the rest', () => {
  const bound = fc.integer({ min: 0, max: 0x4_0000 });
  const dotted = (address: number): string =>
    [10, (address >> 16) & 0xff, (address >> 8) & 0xff, address & 0xff].join('.');
  fc.assert(
    fc.property(fc.array(bound, { minLength: 4, maxLength: 4 }), fc.array(bound), (drawn, asked) => {
      const [start, innerStart, innerEnd, end] = drawn.toSorted((a, b) => a - b) as [
        number,
        number,
        number,
        number,
      ];
      const geo = planGeo([
        'ranges; default d;',
        `${dotted(start)}-${dotted(end)} outer;`,
        `${dotted(innerStart)}-${dotted(innerEnd)} inner;`,
      ]);
      for (const address of [...drawn, ...asked]) {
        const isInner = address >= innerStart && address <= innerEnd;
        const isOuter = address >= start && address <= end;
        const wanted = isInner ? 'inner' : isOuter ? 'outer' : 'd';
        expect(geo.values[lookUp(geo, dotted(address))]).toBe(wanted);
      }
    }),
  );
});

test('a table of 100,000 networks is planned and searched at once', () => {
  const lines = Array.from(
    { length: 100_000 },
    (_, index) => `${index >> 14}.${(index >> 6) & 0xff}.${(index << 2) & 0xff}.0/24 v${index % 7};`,
  );
  const geo = planGeo(lines);
  for (const index of [0, 1, 63, 64, 99_999]) {
    const address = `${index >> 14}.${(index >> 6) & 0xff}.${(index << 2) & 0xff}.9`;
    expect(geo.values[lookUp(geo, address)]).toBe(`v${index % 7}`);
  }
});
