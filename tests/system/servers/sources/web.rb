# SPDX-License-Identifier: Apache-2.0
# A Sinatra application under puma: /, /api. /judge begins to look with stackprof, and says at its second
# call which functions were innermost: a line each, "COUNT NAME".
require "sinatra/base"
require "json"
require "stackprof"

class Web < Sinatra::Base
  set :logging, false
  set :show_exceptions, false
  ITEMS = (1..300).map { |i| { name: "item #{i * 7919 % 300}", price: i * 37 % 101 } }

  helpers do
    def find(text)
      ITEMS.select { |item| item[:name].include?(text) }
    end

    def total(items)
      sum = 0
      items.each { |item| sum += item[:price] * 3 % 7 }
      sum
    end
  end

  get "/" do
    items = find("1").sort_by { |item| [item[:price], item[:name]] }
    erb "<ul><% items.each do |item| %><li><%= item[:name] %> <%= item[:price] %></li><% end %></ul>" \
        "<%= total(ITEMS) %>", locals: { items: items }
  end

  get "/api" do
    content_type :json
    JSON.generate(find("2").map { |item| item.merge(sum: total(ITEMS)) })
  end

  get "/judge" do
    if StackProf.running?
      StackProf.stop
      frames = StackProf.results[:frames].values.reject { |f| f[:samples].zero? }
      frames.map { |f| "#{f[:samples]} #{f[:name]}\n" }.join
    else
      StackProf.start(mode: :cpu, interval: 2000)
      "looks"
    end
  end
end

run Web
