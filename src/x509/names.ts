import { OctetString, Utf8String } from 'asn1js';
import { AltName, AttributeTypeAndValue, GeneralName, RelativeDistinguishedNames } from 'pkijs';
import { addressOfBytes, bytesOfAddress } from './addresses.ts';

/** A name in `subjectAltName` (RFC 5280, 4.2.1.6): of a host or an address. */
export interface SubjectName {
  readonly type: 'dns' | 'ip';
  /** Addresses as Node.js writes them: IPv6 is compressed. */
  readonly value: string;
}

/** Choices of GeneralName. */
const DNS = 2;
const ADDRESS = 7;

const COMMON_NAME = '2.5.4.3';

/** Encodes the value of the extension `subjectAltName`. */
export function encodeAlternatives(names: readonly SubjectName[]): ArrayBuffer {
  return new AltName({ altNames: names.map(generalName) }).toSchema().toBER();
}

function generalName({ type, value }: SubjectName): GeneralName {
  if (type === 'dns') return new GeneralName({ type: DNS, value });
  return new GeneralName({ type: ADDRESS, value: new OctetString({ valueHex: bytesOfAddress(value) }) });
}

/** The hosts and addresses of a `subjectAltName`; names of other kinds are left out. */
export function alternativesIn({ altNames }: AltName): SubjectName[] {
  return altNames.flatMap(({ type, value }): SubjectName[] => {
    if (type === DNS && typeof value === 'string') return [{ type: 'dns', value: value.toLowerCase() }];
    const address = type === ADDRESS && value instanceof OctetString && addressOfBytes(bytesOf(value));
    return address ? [{ type: 'ip', value: address }] : [];
  });
}

function bytesOf(octets: OctetString): Buffer {
  return Buffer.from(octets.valueBlock.valueHexView);
}

/** A subject that has only a common name, or nothing. */
export function subjectOf(commonName: string | undefined): RelativeDistinguishedNames {
  if (commonName === undefined) return new RelativeDistinguishedNames();
  const value = new Utf8String({ value: commonName });
  return new RelativeDistinguishedNames({
    typesAndValues: [new AttributeTypeAndValue({ type: COMMON_NAME, value })],
  });
}
