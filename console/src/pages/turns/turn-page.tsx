import { get } from '../../api/call.ts';
import { formatDuration } from '../../model/format.ts';
import { now } from '../../state/clock.ts';
import { useResource } from '../../state/resource.ts';
import { href } from '../../state/router.ts';
import { Id, StateBadge, Time } from '../../ui/basics.tsx';
import { Icon } from '../../ui/icons.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import { Card, Facts, Loaded, Page } from '../../ui/page.tsx';
import { CardContent } from './card-content.tsx';
import { TurnStream } from './turn-stream.tsx';
import { Waterfall } from './waterfall.tsx';

export interface Turn {
  agent_turn_id: string;
  agent_id: string;
  status: string;
  turn_epoch: number;
  correlation_id: string;
  channel_id: string;
  recursion_depth?: number;
  from?: string;
  context_box_id?: string;
  payload?: unknown;
  enqueued_at: string;
  leased_at?: string;
  ended_at?: string;
  deliverable_card_id?: string;
  output_box_id?: string;
  error?: string;
  error_code?: string;
  steps?: { step_id: string; phase: string; at: string; metadata?: unknown }[];
  waiting?: { tool_call_id: string; step_id?: string; status: string; result?: string; tool_result_card_id?: string }[];
}

export const TurnPage = ({ id }: { id: string }) => {
  const turn = useResource(`turn ${id}`, (abort) => get<Turn>(`v1/turns/${encodeURIComponent(id)}`, {}, abort), {
    when: ({ type, data }) => /^(evt|cmd)\./.test(type) && JSON.stringify(data).includes(id),
    restMs: 500,
  });
  return <Loaded from={turn}>{(found) => <Found turn={found} />}</Loaded>;
};

const Found = ({ turn }: { turn: Turn }) => (
  <Page
    name="Turn"
    title={
      <>
        Turn of {turn.agent_id} <StateBadge state={turn.status} />
      </>
    }
    lead={<Id id={turn.agent_turn_id} isLong />}
  >
    {turn.error && (
      <div class="note bad">
        <Icon name="dead" />
        <p>
          <code>{turn.error_code}</code> {turn.error}
        </p>
      </div>
    )}
    <div class="columns">
      <div class="stack">
        <Card
          title="Steps and tool calls"
          aside={
            <span class="muted num">
              {formatDuration((turn.ended_at ? Date.parse(turn.ended_at) : now.value) - Date.parse(turn.enqueued_at))}
            </span>
          }
        >
          <Waterfall turn={turn} />
        </Card>
        <TurnStream id={turn.agent_turn_id} />
        {turn.deliverable_card_id && (
          <Card title="Deliverable" aside={<Id id={turn.deliverable_card_id} />}>
            <CardContent id={turn.deliverable_card_id} />
          </Card>
        )}
        <Card title="Payload">
          <JsonView value={turn.payload ?? {}} label="the payload" />
        </Card>
      </div>
      <Card class="side">
        <Facts
          rows={[
            [
              'Agent',
              <a key="a" href={href(['agents', turn.agent_id])}>
                {turn.agent_id}
              </a>,
            ],
            ['From', turn.from],
            ['Epoch', String(turn.turn_epoch)],
            ['Channel', turn.channel_id],
            ['Depth', turn.recursion_depth !== undefined && String(turn.recursion_depth)],
            ['Queued', <Time key="q" at={turn.enqueued_at} />],
            ['Leased', turn.leased_at && <Time at={turn.leased_at} />],
            ['Ended', turn.ended_at && <Time at={turn.ended_at} />],
            ['Correlation', <Id key="c" id={turn.correlation_id} />],
            ['Context box', turn.context_box_id && <Id id={turn.context_box_id} />],
            ['Output box', turn.output_box_id && <Id id={turn.output_box_id} />],
          ]}
        />
      </Card>
    </div>
  </Page>
);
