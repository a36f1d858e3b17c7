import { IssuerDocuments, type IssuerSource, issuerZone, nameOfIssuer } from '../issuer/index.ts';
import { SharedText } from '../zone/index.ts';
import type { WorkerScope } from './scope.ts';

const AGES = {
  name: 'gw_jwks_age_seconds',
  help: 'Age of the keys of an issuer, in seconds.',
};
const FETCHES = { name: 'gw_jwks_fetches_total', help: 'Fetches of the keys of issuers.' };

/** Opens the keys and the metadata of an issuer in this worker. The zone of the source (`issuerZone`) must be declared. */
export function openIssuerDocuments(source: IssuerSource, worker: WorkerScope): IssuerDocuments {
  const zone = issuerZone(source).name;
  return worker.share(
    zone,
    () => {
      const documents = new IssuerDocuments({
        source,
        shared: new SharedText(worker.zone(zone), worker.workerId),
        tell: (result, fault) => {
          worker.metrics.counter(FETCHES, { result }).add();
          if (result === 'failed') worker.log.write('error', fault);
        },
      });
      // A URL of keys may have secrets in its arguments.
      const [issuer = ''] = nameOfIssuer(source).split('?');
      const read = (): number => (documents.ageMs() ?? NaN) / 1_000;
      endings.set(documents, worker.metrics.collect('gauge', { metric: AGES, labels: { issuer }, read }));
      return documents;
    },
    (opened) => {
      endings.get(opened)?.();
      opened.close();
    },
  );
}

/** What ends the metrics of documents. */
const endings = new WeakMap<IssuerDocuments, () => void>();
