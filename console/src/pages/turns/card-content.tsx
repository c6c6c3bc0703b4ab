import { get } from '../../api/call.ts';
import { useResource } from '../../state/resource.ts';
import { JsonView } from '../../ui/json-view.tsx';
import { Loaded } from '../../ui/page.tsx';

interface StoredCard {
  type: string;
  content: unknown;
}

export const CardContent = ({ id }: { id: string }) => {
  const card = useResource(`card ${id}`, (abort) => get<StoredCard>(`v1/cards/${encodeURIComponent(id)}`, {}, abort));
  return (
    <Loaded from={card}>
      {({ type, content }) => (
        <>
          <p class="muted small">{type}</p>
          <JsonView value={content} label="the card" />
        </>
      )}
    </Loaded>
  );
};
