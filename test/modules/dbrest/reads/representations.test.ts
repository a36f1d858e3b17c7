import { describe } from 'vitest';
import { type FaultCase, fixtureGateway, givesFaults, givesRows, type RowsCase } from '../fixture/gateway.ts';

const gateway = fixtureGateway();

const rows: readonly RowsCase[] = [
  [
    'paints?select=id,tone&order=id',
    [
      { id: 1, tone: '#FFFFFF' },
      { id: 2, tone: '#87CEEB' },
      { id: 3, tone: null },
    ],
  ],
  ['paints?id=eq.2', [{ id: 2, name: 'sky', tone: '#87CEEB', base_id: 1 }]],
  ['paints?select=name,*&id=eq.1', [{ name: 'white', id: 1, tone: '#FFFFFF', base_id: null }]],
  ['paints?select=colour:tone,quoted:tone::text&id=eq.1', [{ colour: '#FFFFFF', quoted: '"#FFFFFF"' }]],
  ['paints?select=name,base_id(tone)&id=eq.2', [{ name: 'sky', base_id: { tone: '#FFFFFF' } }]],
  [
    'paints?select=name,base_id(*)&id=eq.2',
    [{ name: 'sky', base_id: { id: 1, name: 'white', tone: '#FFFFFF', base_id: null } }],
  ],
  ['paints?select=name,...base_id(base:tone)&id=eq.2', [{ name: 'sky', base: '#FFFFFF' }]],
  ['paints?select=id&tone=eq.%2387CEEB', [{ id: 2 }]],
  ['paints?select=id&tone=gt.87CEEB', [{ id: 1 }]],
  ['paints?select=id&tone=not.eq.87CEEB', [{ id: 1 }]],
  ['paints?select=id&tone=in.(87CEEB,FFFFFF)&order=tone', [{ id: 2 }, { id: 1 }]],
  ['paints?select=id&tone=eq(any).{87CEEB,0}', [{ id: 2 }]],
  ['paints?select=id&or=(tone.eq.87CEEB,tone.is.null)&order=id', [{ id: 2 }, { id: 3 }]],
  ['paints?select=id&order=tone.desc.nullslast', [{ id: 1 }, { id: 2 }, { id: 3 }]],
  ['paints?select=tone.max()', [{ max: 16777215 }]],
];
describe('a domain with casts of its own', () => {
  givesRows(gateway, rows);
});

const faults: readonly FaultCase[] = [
  ['paints?tone=like.87*', 404, '42883'],
  ['paints?tone=eq.xyz', 400, '22P02'],
];
describe('values that a domain refuses', () => {
  givesFaults(gateway, faults);
});
