/// The page's style: light and dark by the reader's setting, one column on a phone.
enum PageStyle {
    static let css = """
        :root {
          color-scheme: light dark;
          --ground: #f6f7f9; --card: #ffffff; --ink: #14181f; --soft: #5b6472; --rule: #e3e6eb;
          --one: #0b62d6; --two: #c2570c; --good: #157f4a; --bad: #c0242b; --tint: #e8f1ff;
          --good-tint: #e2f5ea; --bad-tint: #fde8e8;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --ground: #0e1116; --card: #171b22; --ink: #e8ebf0; --soft: #98a2b1; --rule: #2a303a;
            --one: #6aa8ff; --two: #ff9f57; --good: #4cc98a; --bad: #ff7b7b; --tint: #182a45;
            --good-tint: #12301f; --bad-tint: #3a1719;
          }
        }
        * { box-sizing: border-box; }
        body {
          margin: 0; background: var(--ground); color: var(--ink);
          font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
          -webkit-text-size-adjust: 100%;
        }
        main { max-width: 940px; margin: 0 auto; padding: 28px 16px 56px; }
        header { display: flex; flex-wrap: wrap; align-items: center; gap: 10px 14px; margin-bottom: 6px; }
        h1 { font-size: 1.55rem; line-height: 1.2; margin: 0; letter-spacing: -0.01em; }
        h2 { font-size: 1.02rem; margin: 0 0 2px; }
        p { margin: 0 0 10px; }
        .soft, figcaption { color: var(--soft); font-size: .9rem; }
        .verdict { font-weight: 600; font-size: .9rem; padding: 3px 12px; border-radius: 999px; }
        .verdict.good { color: var(--good); background: var(--good-tint); }
        .verdict.bad { color: var(--bad); background: var(--bad-tint); }
        .complaint { color: var(--bad); font-weight: 600; }
        section, figure { background: var(--card); border: 1px solid var(--rule); border-radius: 14px;
          padding: 18px 20px; margin: 16px 0 0; }
        .tiles { display: grid; grid-template-columns: repeat(4, 1fr); gap: 12px; margin-top: 18px; }
        .tile { background: var(--card); border: 1px solid var(--rule); border-radius: 14px; padding: 14px 16px; }
        .tile .label { color: var(--soft); font-size: .85rem; }
        .tile .figure { font-size: 1.6rem; font-weight: 650; letter-spacing: -0.02em; line-height: 1.25;
          font-variant-numeric: tabular-nums; }
        .tile .figure small { font-size: .95rem; font-weight: 500; color: var(--soft); letter-spacing: 0; }
        .tile .note { color: var(--soft); font-size: .82rem; }
        svg.plot { display: block; width: 100%; height: auto; margin-top: 10px; overflow: visible; }
        svg.narrow { display: none; }
        .grid { stroke: var(--rule); stroke-width: 1; }
        .tick { fill: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; }
        .tick.end { text-anchor: end; }
        .line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
        .line.one { stroke: var(--one); } .line.two { stroke: var(--two); }
        .area.one { fill: var(--one); opacity: .12; } .area.two { fill: var(--two); opacity: .12; }
        .dot { fill: var(--card); stroke: var(--one); stroke-width: 2; }
        .mark { fill: var(--ink); font-size: 12px; font-weight: 600; paint-order: stroke;
          stroke: var(--card); stroke-width: 4px; stroke-linejoin: round; }
        .legend { display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: .88rem; color: var(--soft); margin-top: 4px; }
        .legend span::before { content: ""; display: inline-block; width: 18px; height: 3px; border-radius: 2px;
          margin-right: 7px; vertical-align: middle; background: currentColor; }
        .legend .one::before { background: var(--one); } .legend .two::before { background: var(--two); }
        .bars { margin-top: 8px; }
        .bar { display: grid; grid-template-columns: 1fr auto; gap: 2px 12px; padding: 6px 0; font-size: .93rem; }
        .bar .value { font-variant-numeric: tabular-nums; color: var(--soft); text-align: right; }
        .track { grid-column: 1 / -1; height: 9px; border-radius: 5px; background: var(--rule); overflow: hidden; }
        .fill { display: block; height: 100%; border-radius: 5px; background: var(--one); }
        .fill.two { background: var(--two); } .fill.good { background: var(--good); } .fill.bad { background: var(--bad); }
        .scroll { overflow-x: auto; }
        table { border-collapse: collapse; width: 100%; font-size: .93rem; margin-top: 6px; }
        th, td { text-align: left; padding: 6px 14px 6px 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
        tr:last-child > * { border-bottom: 0; }
        th { font-weight: 500; color: var(--soft); }
        td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
        td.right { color: var(--good); font-weight: 600; } td.wrong { color: var(--bad); font-weight: 600; }
        pre { background: var(--ground); border: 1px solid var(--rule); border-radius: 10px; padding: 12px 14px;
          margin: 8px 0 0; font: .86rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace;
          white-space: pre-wrap; overflow-wrap: anywhere; }
        .pair { display: grid; grid-template-columns: 1fr 1fr; gap: 6px 32px; }
        details { margin-top: 10px; } summary { cursor: pointer; color: var(--soft); font-size: .9rem; }
        footer { color: var(--soft); font-size: .85rem; margin-top: 22px; }
        @media (max-width: 620px) {
          main { padding: 18px 12px 40px; }
          h1 { font-size: 1.3rem; }
          .tiles { grid-template-columns: 1fr 1fr; gap: 10px; }
          .tile { padding: 12px; } .tile .figure { font-size: 1.3rem; }
          section, figure { padding: 14px; border-radius: 12px; margin-left: 0; margin-right: 0; }
          svg.wide { display: none; } svg.narrow { display: block; }
          .pair { grid-template-columns: 1fr; }
          th, td { padding-right: 6px; } table { font-size: .8rem; } td:last-child, th:last-child { padding-right: 0; }
        }
        @media print { body { background: #fff; } section, figure, .tile { break-inside: avoid; } }
        """
}
