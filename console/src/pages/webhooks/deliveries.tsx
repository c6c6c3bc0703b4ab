import { formatDuration } from '../../model/format.ts';
import type { Resource } from '../../state/resource.ts';
import { Badge, Empty, Id, Time } from '../../ui/basics.tsx';
import { Card, Loaded } from '../../ui/page.tsx';

export interface Delivery {
  eventId: string;
  type: string;
  attempt: number;
  at: string;
  status?: number;
  error?: string;
  tookMs: number;
}

const isTaken = ({ status = 0 }: Delivery): boolean => status >= 200 && status < 300;

/** What was sent in the last days, and how it was answered. */
export const Deliveries = ({ from }: { from: Resource<{ deliveries: Delivery[] }> }) => (
  <Card isFlush title="What was sent" aside={<span class="muted">the last 7 days, the newest first</span>}>
    <Loaded from={from}>
      {({ deliveries }) =>
        deliveries.length === 0 ? (
          <Empty title="Nothing was sent yet" icon="send">
            The next event that it asks for appears here, and so does a test.
          </Empty>
        ) : (
          <div class="scroll-x">
            <table>
              <thead>
                <tr>
                  <th>Answer</th>
                  <th>Event</th>
                  <th>Id</th>
                  <th class="num">Attempt</th>
                  <th class="num">Took</th>
                  <th class="num">When</th>
                </tr>
              </thead>
              <tbody>
                {deliveries.map((one) => (
                  <tr key={`${one.eventId} ${one.attempt}`}>
                    <td>
                      <Badge tone={isTaken(one) ? 'good' : 'bad'}>{one.status ?? 'no answer'}</Badge>{' '}
                      <span class="muted small">{one.error}</span>
                    </td>
                    <td class="strong">{one.type}</td>
                    <td>
                      <Id id={one.eventId} />
                    </td>
                    <td class="num">{one.attempt}</td>
                    <td class="num">{formatDuration(one.tookMs)}</td>
                    <td class="num">
                      <Time at={one.at} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )
      }
    </Loaded>
  </Card>
);
